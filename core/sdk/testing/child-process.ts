// The launcher is plain JavaScript outside the build, so it is loaded by address.
const launcher = (await import(new URL('../../../../scripts/lib/node-flags.mjs', import.meta.url).href)) as {
  nodeFlags(): readonly string[];
};

/** Flags of Node that the launcher runs the product with. */
export const nodeFlags: readonly string[] = launcher.nodeFlags();

/** What a process of the product inherits from a test: none of the developer's settings. */
export function childEnvironment(): NodeJS.ProcessEnv {
  const { PATH, HOME, NODE_COMPILE_CACHE } = process.env;
  return { PATH, HOME, ...(NODE_COMPILE_CACHE ? { NODE_COMPILE_CACHE } : {}) };
}
