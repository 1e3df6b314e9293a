import { expect } from 'chai';
import { type ServerProcess, startServer } from 'mortise/sdk/testing';

const plugins = { version: 1, plugins: { admin: { enabled: true } } };

describe('a start', () => {
  let server: ServerProcess;
  afterEach(() => server.dispose());

  it('prints its address and how to stop it as text', async () => {
    server = await startServer({ plugins, env: { MORTISE_LOG_FORMAT: 'text' } });
    expect((await server.fetch('/healthz')).status).to.equal(200);
    expect(server.output()).to.match(
      / info {2}Mortise listens on http:\/\/127\.0\.0\.1:\d+ \(Ctrl-C stops it\) ms=\d+\n/,
    );
    expect(await server.end('SIGINT')).to.equal(0);
  });

  it('prints the same as JSON', async () => {
    server = await startServer({ plugins });
    const lines = server.output().trim().split('\n');
    const facts = lines.map((line) => JSON.parse(line) as { msg: string; origin?: string });
    expect(facts.find(({ msg }) => msg.startsWith('Mortise listens'))).to.have.property('origin', server.origin);
  });
});
