import net from 'node:net';

/**
 * Loaded into a test run that promises to need no network and no database: whatever connects or listens fails, with the
 * test that did it. Pipes to processes of its own are none.
 */
for (const [owner, member] of /** @type {const} */ ([
  [net.Socket, 'connect'],
  [net.Server, 'listen'],
])) {
  Object.defineProperty(owner.prototype, member, {
    value() {
      throw new Error(`a unit test may not ${member}: what needs a network or a database is an integration test`);
    },
  });
}
