import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { expect } from 'chai';
import { concealSecret, isSensitiveName, maskDeep, maskSecret, redactSecrets } from '../mask.js';

describe('masking', () => {
  let thread: Worker | undefined;
  afterEach(() => thread?.terminate());

  for (const name of [
    'api_key',
    'client_secret',
    'SECRET',
    'Password',
    'Authorization',
    'cookie',
    'X-Api-Key',
    'OPENAI_API_KEY',
    'my-token',
    'db_password',
    'apiKey',
    'accessToken',
  ]) {
    it(`treats ${name} as the name of a secret`, () => {
      expect(isSensitiveName(name)).to.equal(true);
    });
  }

  for (const name of ['key', 'monkey', 'tokens', 'max_tokens', 'keyboard', 'content-type', 'secretary', '']) {
    it(`treats "${name}" as an ordinary name`, () => {
      expect(isSensitiveName(name)).to.equal(false);
    });
  }

  it('shows four characters of a long secret, and nothing of a short one', () => {
    expect(['', 'abcdefg', 'abcdefghijklmno', 'abcdefghijklmnop', '🔑'.repeat(16)].map(maskSecret)).to.deep.equal([
      '***',
      '***',
      '***',
      'ab***op',
      '🔑🔑***🔑🔑',
    ]);
  });

  it('masks members by name at any depth without changing the given value', () => {
    const given = { a: [{ api_key: 'abcdefghijklmnop', n: 1 }], token_secret: { x: 1 }, empty_key: '', none_key: null };
    expect(maskDeep(given)).to.deep.equal({
      a: [{ api_key: 'ab***op', n: 1 }],
      token_secret: '***',
      empty_key: '',
      none_key: null,
    });
    expect(given.a[0]?.api_key).to.equal('abcdefghijklmnop');
  });

  it('keeps the text around a secret', () => {
    expect(redactSecrets('connect postgres://me:pw12345@db:5432/x failed')).to.equal(
      'connect postgres://me:[REDACTED]@db:5432/x failed',
    );
    expect(redactSecrets('password=abcdefgh; retry')).to.equal('password=[REDACTED]; retry');
  });

  const body = (length: number): string => 'a1B2c3D4e5F6g7H8'.repeat(16).slice(0, length);
  const hex = (length: number): string => '0123456789abcdef'.repeat(16).slice(0, length);
  const tokens: Readonly<Record<string, string>> = {
    'a GitLab access token': `glpat-${body(20)}`,
    'a GitLab access token with its routing part': `glpat-${body(27)}.01.${body(9)}`,
    'a GitLab trigger token': `glptt-${hex(40)}`,
    'a GitHub token': `ghp_${body(36)}`,
    'an npm token': `npm_${body(36)}`,
    'a PyPI token': `pypi-AgEIcHlwaS5vcmc${body(60)}`,
    'a Docker token': `dckr_pat_${body(27)}`,
    'a Hugging Face token': `hf_${body(34)}`,
    'a Groq key': `gsk_${body(52)}`,
    'an OpenAI key': `sk-proj-${body(12)}_${body(12)}-${body(30)}`,
    'an Anthropic key': `sk-ant-api03-${body(40)}-${body(40)}_AA`,
    'an xAI key': `xai-${body(80)}`,
    'a SendGrid key': `SG.${body(22)}.${body(43)}`,
    'a DigitalOcean token': `dop_v1_${hex(64)}`,
    'a Google access token': `ya29.${body(30)}-${body(40)}`,
    'a Google client secret': `GOCSPX-${body(28)}`,
    'a Google refresh token': `1//0${body(40)}`,
    'an AWS key id': `AKIA${'Q'.repeat(16)}`,
    'a Slack token': `xoxb-1234567890-${body(24)}`,
    'a Slack webhook': `https://hooks.slack.com/services/T00000000/B00000000/${body(24)}`,
    'a Discord webhook': `https://discord.com/api/webhooks/123456789012345678/${body(68)}`,
    'a Telegram bot token': `123456789:AA${body(33)}`,
    'a Stripe key': `sk_live_${body(24)}`,
    'a Stripe webhook secret': `whsec_${body(32)}`,
    'a Shopify token': `shpat_${hex(32)}`,
    'a Vault token': `hvs.${body(24)}`,
    'a Grafana token': `glsa_${body(32)}_${hex(8)}`,
    'a Linear key': `lin_api_${body(40)}`,
    'a Notion token': `ntn_${body(46)}`,
    'an Airtable token': `pat${body(14)}.${hex(64)}`,
    'a Databricks token': `dapi${hex(32)}`,
    'a Postman key': `PMAK-${hex(24)}-${hex(34)}`,
    'a web token': `eyJ${body(20)}.eyJ${body(20)}.${body(43)}`,
  };
  for (const [what, token] of Object.entries(tokens)) {
    it(`removes ${what} anywhere in a text`, () => {
      expect(redactSecrets(token)).to.equal('[REDACTED]');
      expect(redactSecrets(`the call with "${token}", and again ${token}\nfailed`)).to.equal(
        'the call with "[REDACTED]", and again [REDACTED]\nfailed',
      );
    });
  }

  for (const [given, shown] of [
    ['passphrase: correct-horse', 'passphrase: [REDACTED]'],
    ['authorization: 4f3c2b1a9d', 'authorization: [REDACTED]'],
    ['Authorization: Token 4f3c2b1a9d', 'Authorization: Token [REDACTED]'],
    ['{"authorization":"Bot MTk4NjIyNDgz"}', '{"authorization":"Bot [REDACTED]"}'],
    ['Proxy-Authorization: Digest username="me", response="6629fa"', 'Proxy-Authorization: Digest [REDACTED]'],
    ['authorization=opaqueOpaqueOpaqueOpaque', 'authorization=[REDACTED]'],
  ] as const) {
    it(`removes the secret of "${shown}"`, () => {
      expect(redactSecrets(given)).to.equal(shown);
    });
  }

  for (const text of [
    'The token limit is 4096 tokens; see https://example.test/a?b=c and session_key user:1.',
    'Authorization: required for every route of the gateway.',
    'npm_config_registry, hf_transformers, pattern.test and skipped-because-of-the-long-name are ordinary names',
    '2026-01-31T08:30:00.000Z 0123456789abcdef0123456789abcdef01HZX4Y5Z6A7B8C9D0E1F2G3H4',
    'artifact://scm/default/git/abcdef0123456789abcdef0123456789abcdef01.diff#sha256:0123456789abcdef',
  ]) {
    it(`does not change "${text.slice(0, 40)}…"`, () => {
      expect(redactSecrets(text)).to.equal(text);
    });
  }

  it('removes configured values of any format, as long as they are configured', () => {
    const values = ['harvest-moon', 'postgres', 'quoted "value" 1'].map((value) => ({
      value,
      concealed: [concealSecret(value), concealSecret(value)],
    }));
    const text = `harvest-moon of postgres: harvest%2Dmoon ${JSON.stringify('quoted "value" 1')}`;
    const clean = redactSecrets(text);
    for (const { concealed } of values) concealed[0]?.dispose();
    const still = redactSecrets(text);
    for (const { concealed } of values) concealed[1]?.dispose();
    expect([clean, still, redactSecrets(text)]).to.deep.equal([
      '[REDACTED] of postgres: harvest%2Dmoon "[REDACTED]"',
      '[REDACTED] of postgres: harvest%2Dmoon "[REDACTED]"',
      text,
    ]);
  });

  it('takes time proportional to the length of any text', async () => {
    // Seconds with linear time; minutes to hours if the time grows with the square of the length.
    const parts = [
      'a',
      'a:',
      '-----BEGIN ',
      'sk-a',
      'sk-',
      'eyJ.',
      'eyJaaaaaaaa-',
      'password',
      'Bearer ',
      'http://',
      '://:@',
      'glpat-',
      'SG.a',
      'a1.',
      'authorization: a ',
      'M1',
      'a'.repeat(15).concat(' '),
    ];
    const script = new URL('./redact-in-thread.js', import.meta.url);
    thread = new Worker(script, { workerData: { parts, length: 2_000_000 } });
    const done: unknown[] = [];
    thread.on('message', (part) => done.push(part));
    const [exitCode] = await once(thread, 'exit');
    expect([exitCode, done]).to.deep.equal([0, parts]);
  });
});
