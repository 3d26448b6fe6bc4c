<?php
// Backend of the Visitors Site: records visits in MySQL and lists the latest.
// As a web server's router it answers /api/visits, /healthz and /readyz; as a command, `index.php migrate` creates the table.

mysqli_report(MYSQLI_REPORT_ERROR | MYSQLI_REPORT_STRICT);

function connect(): mysqli
{
    $database = mysqli_init();
    $database->options(MYSQLI_OPT_CONNECT_TIMEOUT, 3);
    $database->real_connect(
        getenv('DATABASE_HOST'),
        getenv('DATABASE_USER'),
        getenv('DATABASE_PASSWORD'),
        getenv('DATABASE_NAME'),
        (int) getenv('DATABASE_PORT'),
    );
    return $database;
}

function migrate(): int
{
    $deadline = time() + (int) (getenv('MIGRATION_TIMEOUT') ?: 120);
    while (true) {
        try {
            connect()->query(
                'CREATE TABLE IF NOT EXISTS visits (
                    id BIGINT UNSIGNED AUTO_INCREMENT PRIMARY KEY,
                    visited_at TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP,
                    served_by VARCHAR(253) NOT NULL
                )'
            );
            return 0;
        } catch (mysqli_sql_exception $error) {
            fwrite(STDERR, "cannot create the table of visits: {$error->getMessage()}\n");
            if (time() >= $deadline) {
                return 1;
            }
            sleep(2);
        }
    }
}

function answer(int $code, array $body): void
{
    http_response_code($code);
    header('Content-Type: application/json');
    echo json_encode($body), "\n";
}

function visits(mysqli $database): array
{
    $limit = max(1, (int) (getenv('LATEST_VISITS') ?: 10));
    $latest = $database->query(
        "SELECT visited_at AS visitedAt, served_by AS servedBy FROM visits ORDER BY id DESC LIMIT {$limit}",
    );
    return [
        'site' => getenv('SITE_ID') ?: null,
        'total' => (int) $database->query('SELECT COUNT(*) FROM visits')->fetch_column(),
        'latest' => $latest->fetch_all(MYSQLI_ASSOC),
    ];
}

function handle(string $method, string $path): void
{
    if ($path === '/healthz') {
        answer(200, ['status' => 'ok']);
        return;
    }
    if ($path !== '/api/visits' && $path !== '/readyz') {
        answer(404, ['error' => 'not found']);
        return;
    }
    try {
        $database = connect();
        if ($path === '/readyz') {
            $database->query('SELECT 1 FROM visits LIMIT 1');
            answer(200, ['status' => 'ok']);
            return;
        }
        if ($method === 'POST') {
            $database->execute_query('INSERT INTO visits (served_by) VALUES (?)', [getenv('POD_NAME') ?: gethostname()]);
        }
        answer($method === 'POST' ? 201 : 200, visits($database));
    } catch (mysqli_sql_exception $error) {
        error_log($error->getMessage());
        answer(503, ['error' => 'the database does not answer']);
    }
}

if (PHP_SAPI === 'cli') {
    exit(($argv[1] ?? '') === 'migrate' ? migrate() : 2);
}
handle($_SERVER['REQUEST_METHOD'], parse_url($_SERVER['REQUEST_URI'], PHP_URL_PATH) ?: '/');
