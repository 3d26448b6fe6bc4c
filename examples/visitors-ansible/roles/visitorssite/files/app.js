const cell = (text) => Object.assign(document.createElement("td"), { textContent: text });

async function visit() {
  const response = await fetch("/api/visits", { method: "POST" });
  if (!response.ok) throw new Error(`the backend answered ${response.status}`);
  const { total, latest } = await response.json();
  document.getElementById("total").textContent = total;
  document.getElementById("latest").replaceChildren(
    ...latest.map(({ visitedAt, servedBy }) => {
      const row = document.createElement("tr");
      row.append(cell(visitedAt), cell(servedBy));
      return row;
    }),
  );
}

const accent = document.querySelector('meta[name="theme-color"]').content;
document.querySelector("h1").style.color = accent;
visit().catch((error) => {
  document.getElementById("total").textContent = error.message;
});
