/** Uses the context implementation that is the default since Node 24. Without it promises cost several times as much. */
const frames = '--experimental-async-context-frame';
const firstWithFrames = 24;

/**
 * Node flags of the product's entry points, so that dropped-in TypeScript plugins load on every supported Node.
 * @param {string} [version] of the Node in use; one that is too old runs the product on another, which supports all flags
 * @returns {readonly string[]}
 */
export function nodeFlags(version = process.versions.node) {
  const flags = ['--experimental-strip-types', '--disable-warning=ExperimentalWarning'];
  return Number.parseInt(version, 10) < firstWithFrames ? [...flags, frames] : flags;
}
