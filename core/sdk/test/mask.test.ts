import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { expect } from 'chai';
import { isSensitiveName, maskDeep, maskSecret, redactSecrets } from '../mask.js';

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

  it('shows six characters at most, and nothing of a short secret', () => {
    expect(['', 'abcdefg', 'abcdefghijk', 'abcdefghijkl', '🔑'.repeat(12)].map(maskSecret)).to.deep.equal([
      '***',
      '***',
      '***',
      'abc***jkl',
      '🔑🔑🔑***🔑🔑🔑',
    ]);
  });

  it('masks members by name at any depth without changing the given value', () => {
    const given = { a: [{ api_key: 'abcdefghijkl', n: 1 }], token_secret: { x: 1 }, empty_key: '', none_key: null };
    expect(maskDeep(given)).to.deep.equal({
      a: [{ api_key: 'abc***jkl', n: 1 }],
      token_secret: '***',
      empty_key: '',
      none_key: null,
    });
    expect(given.a[0]?.api_key).to.equal('abcdefghijkl');
  });

  it('keeps the text around a secret', () => {
    expect(redactSecrets('connect postgres://me:pw12345@db:5432/x failed')).to.equal(
      'connect postgres://me:[REDACTED]@db:5432/x failed',
    );
    expect(redactSecrets('password=abcdefgh; retry')).to.equal('password=[REDACTED]; retry');
  });

  it('does not change ordinary words', () => {
    const text = 'The token limit is 4096 tokens; see https://example.test/a?b=c and session_key user:1.';
    expect(redactSecrets(text)).to.equal(text);
  });

  it('takes time proportional to the length of any text', async function proportion() {
    // Seconds where it does; minutes and hours where the time grows with the square of texts as long as these.
    this.timeout(60_000);
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
    ];
    const script = new URL('./redact-in-thread.js', import.meta.url);
    thread = new Worker(script, { workerData: { parts, length: 2_000_000 } });
    const done: unknown[] = [];
    thread.on('message', (part) => done.push(part));
    const [exitCode] = await once(thread, 'exit');
    expect([exitCode, done]).to.deep.equal([0, parts]);
  });
});
