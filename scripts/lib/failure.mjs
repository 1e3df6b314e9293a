/**
 * The launcher's error messages: one sentence with the problem and the next step.
 * @type {Record<string, (facts: Record<string, string>) => string>}
 */
const sentences = {
  runtime_unsupported: ({ version, floor, target }) =>
    `Node ${version} is older than ${floor}, and no ready-made Node is published for ${target}: install Node ${floor} or newer and run the same command again.`,
  runtime_unusable: ({ path, reason, floor }) =>
    `The Node that was downloaded to ${path} does not run on this machine (${reason}): install Node ${floor} or newer and run the same command again.`,
  npm_missing: () =>
    'npm was not found: install it (it comes with Node.js, on Debian as the package "npm") and run the same command again.',
  network: ({ what, reason }) =>
    `${what} could not be downloaded because the npm registry could not be reached (${reason}): check the network or the proxy settings and run the same command again.`,
  certificate: ({ what, reason }) =>
    `${what} could not be downloaded because the certificate of the npm registry is not trusted here (${reason}): point NODE_EXTRA_CA_CERTS at your certificate file and run the same command again.`,
  disk_full: ({ what }) =>
    `${what} could not be installed because the disk is full: free about 700 MB and run the same command again.`,
  not_writable: ({ path }) =>
    `The folder ${path} cannot be written by this user: change its owner or run the command as the user who owns it.`,
  lockfile_differs: () =>
    'package.json and package-lock.json do not agree: run "npm install" to bring the lockfile up to date, then run the same command again.',
  install_failed: ({ what, reason, log }) =>
    `${what} could not be installed (${reason}): read ${log}, fix the cause and run the same command again.`,
  compiler_failed: ({ reason }) =>
    `The TypeScript compiler did not finish (${reason}): if one of its files is missing, delete node_modules, and run the same command again.`,
  unknown_check: ({ name, known }) => `There is no check "${name}": choose one of ${known}.`,
  unknown_bench: ({ name, known }) =>
    `There is no benchmark "${name}": npm run bench -- <name>, where name is one of ${known}.`,
  unknown_plugin: ({ name, known }) => `There is no plugin "${name}" that can be left out: choose one of ${known}.`,
  type_errors: ({ error }) => `The sources have type errors (${error}): "npm run typecheck" lists all.`,
  entry_missing: ({ file, reason }) =>
    `There is no ${file} to run${reason}: fix the sources and run the same command again.`,
  not_started: ({ file, reason }) =>
    `${file} could not be started (${reason}): delete .runtime and node_modules and run the same command again.`,
};

/** An error that the user can fix. `code` is a row of the table above. */
export class Failure extends Error {
  /**
   * @param {string} code
   * @param {Record<string, string>} [facts] values for the message
   */
  constructor(code, facts = {}) {
    super((sentences[code] ?? (() => code))(facts));
    this.code = code;
  }
}

/** A signal ended the run during set-up. */
export class Interrupted extends Error {
  /** @param {NodeJS.Signals} signal */
  constructor(signal) {
    super(`Interrupted by ${signal}`);
    this.signal = signal;
  }
}
