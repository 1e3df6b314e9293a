import type { ToolCode } from '../tool-code.js';

/** `logbook_set_kv` */
export const setValue: ToolCode = {
  kind: 'changes',
  target: ({ namespace, key }) => `kv:${String(namespace)}/${String(key)}`,
  async record({ namespace, key, value_json }, _prepared, { logbook }, trx) {
    await logbook.kv.set(String(namespace), String(key), value_json, { trx });
    return { namespace, key };
  },
};

/** `logbook_get_kv` */
export const getValue: ToolCode = {
  kind: 'reads',
  async run({ namespace, key }, _ctx, { logbook }) {
    const value = await logbook.kv.get(String(namespace), String(key));
    return { namespace, key, value_json: value ?? null, found: value !== undefined };
  },
};
