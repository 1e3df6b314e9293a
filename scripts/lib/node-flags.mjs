/** Keeps contexts as Node 24 does by itself. Without it every promise of a server costs several times as much. */
const frames = '--experimental-async-context-frame';
const firstWithFrames = 24;

/**
 * With these the product's entries run, so that plugins dropped in as TypeScript load on every supported Node.
 * @param {string} [version] of the Node in use: one that is too old runs the product on another, which knows all of them
 * @returns {readonly string[]}
 */
export function nodeFlags(version = process.versions.node) {
  const flags = ['--experimental-strip-types', '--disable-warning=ExperimentalWarning'];
  return Number.parseInt(version, 10) < firstWithFrames ? [...flags, frames] : flags;
}
