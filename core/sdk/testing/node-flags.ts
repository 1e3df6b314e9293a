/** Flags of Node that the launcher runs the product with. */
export const nodeFlags: readonly string[] = [
  '--experimental-strip-types',
  '--disable-warning=ExperimentalWarning',
  // Node 24 keeps contexts so by itself.
  ...(Number.parseInt(process.versions.node, 10) < 24 ? ['--experimental-async-context-frame'] : []),
];
