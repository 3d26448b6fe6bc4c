// An OpenID provider where everybody is who they say they are: node provider.mjs PORT KEY CERTIFICATE CALLBACK
import { readFileSync } from 'node:fs';
import { createServer } from 'node:https';
import Provider from 'oidc-provider';

const [port, key, certificate, callback] = process.argv.slice(2);
const provider = new Provider(`https://localhost:${port}`, {
  clients: [{
    client_id: 'releases',
    client_secret: 'of-the-proxy',
    redirect_uris: [callback],
    grant_types: ['authorization_code', 'refresh_token'],
  }],
  cookies: { keys: ['of-the-provider'] },
  claims: { openid: ['sub'], email: ['email', 'email_verified'] },
  conformIdTokenClaims: false,
  // A token is over while the test looks; the proxy gets another one.
  ttl: { IdToken: 20, AccessToken: 20, AuthorizationCode: 60, Grant: 3600, Interaction: 600, RefreshToken: 3600, Session: 3600 },
  issueRefreshToken: async () => true,
  pkce: { required: () => false },
  findAccount: (_, id) => ({
    accountId: id,
    claims: () => ({ sub: id, email: `${id}@example.com`, email_verified: true }),
  }),
});
const server = createServer({ key: readFileSync(key), cert: readFileSync(certificate) }, provider.callback());
server.listen(Number(port), '127.0.0.1', () => console.log('ready'));
