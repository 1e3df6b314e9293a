import type { Kernel } from './kernel.js';
import type { Desired } from './ports.js';

/** A plugin that the file names otherwise (an old key, another spelling) gets one row, under its present key. */
export function withToggled(
  kernel: Pick<Kernel, 'resolve'>,
  plugins: Desired['plugins'],
  keys: readonly string[],
  enabled: boolean,
): Desired['plugins'] {
  const next = { ...plugins };
  for (const key of keys) {
    const before = Object.entries(plugins).filter(([name]) => kernel.resolve(name) === key);
    for (const [name] of before) if (name !== key) delete next[name];
    next[key] = { ...Object.assign({}, ...before.map(([, wanted]) => wanted)), ...plugins[key], enabled };
  }
  return next;
}
