import net from 'node:net';

/**
 * Loaded into the unit test run, which must not need a network or a database: code that connects or listens fails, with the
 * name of the test. Pipes to child processes are allowed.
 */
for (const [owner, member] of /** @type {const} */ ([
  [net.Socket, 'connect'],
  [net.Server, 'listen'],
])) {
  Object.defineProperty(owner.prototype, member, {
    value() {
      throw new Error(`a unit test may not ${member}: tests that need a network or a database are integration tests`);
    },
  });
}
