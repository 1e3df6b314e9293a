import type { ExtensionPoints } from '../index.js';
import type { TestPlugin } from './create-test-host.js';

/**
 * A plugin with one contribution.
 *
 * @param facts go into the manifest and into the contribution
 * @example
 * contributing('channel', 'broken', {}, { sendText: () => Promise.reject(new Error('gone')) });
 */
export function contributing<P extends keyof ExtensionPoints & string, F extends Partial<ExtensionPoints[P]>>(
  point: P,
  key: string,
  facts: F,
  behaviour: Omit<ExtensionPoints[P], keyof F>,
  plugin: string = key,
): TestPlugin {
  return {
    manifest: { key: plugin, contributes: { [point]: [{ key, facts: { ...facts } }] } },
    definition: {
      key: plugin,
      register: (host) => void host.contribute(point, key, { ...facts, ...behaviour } as unknown as ExtensionPoints[P]),
    },
  };
}
