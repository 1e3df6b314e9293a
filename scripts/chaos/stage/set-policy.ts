import { startServer } from 'mortise/sdk/testing';
import { policy } from '../plan/wish.js';
import { type Slot, STARTING_MS } from './live-and-die.js';
import { ADMIN_KEY } from './product-settings.js';

/** Lets a server come up once and take the policy that the memories are decided by; it also makes the tables. */
export async function setPolicy({
  settings,
  folder,
  children,
}: Pick<Slot, 'settings' | 'folder' | 'children'>): Promise<void> {
  const server = await startServer({
    ...settings,
    folder,
    limitMs: STARTING_MS,
    onSpawn: (child) => children.add(child),
  });
  const answer = await server.post('/governance/settings/update', { ...policy, admin_key: ADMIN_KEY });
  const { ok } = (await answer.json()) as { readonly ok?: unknown };
  const how = await server.end('SIGTERM');
  if (ok !== true || how !== 0) throw new Error(`The policy could not be set (${how}):\n${server.output()}`);
}
