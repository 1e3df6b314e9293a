import { type Json, type MemoryHost, startMemoryHost } from 'mortise/contracts/memory-gateway/testing';
import type { TestEngine, TestHostOptions } from 'mortise/sdk/testing';
import { type FakeBackend, fakeBackend } from './fake-backend.js';

/** A booted platform with the memory gateway and a fake backend. */
export interface GatewayHost extends MemoryHost {
  readonly fake: FakeBackend;
  /** Switches team writing on with exactly this policy, or off. */
  govern(teamWriteEnabled: boolean, policy?: Json): Promise<void>;
}

/** Every policy key, so that one test's policy does not outlive it. */
const cleared = Object.fromEntries(
  [
    'allowlist_users',
    'allowed_kinds',
    'require_evidence',
    'evidence_mode',
    'max_chars',
    'bulk_mode',
    'bulk_max_chars',
    'dedup',
    'content_guard',
  ].map((key) => [key, null]),
);

export async function startGateway(
  engine: Pick<TestEngine, 'env'>,
  options: TestHostOptions = {},
): Promise<GatewayHost> {
  const fake = fakeBackend();
  const memory = await startMemoryHost(engine, {
    plugins: ['memory-gateway'],
    ...options,
    config: { 'memory-gateway': { memory_backend: 'fake', ...options.config?.['memory-gateway'] } },
    extra: [fake.plugin, ...(options.extra ?? [])],
  });
  return {
    ...memory,
    fake,
    async govern(teamWriteEnabled, policy = {}) {
      const patch = { teamWriteEnabled, policy: { ...cleared, ...policy } };
      await memory.host.service('logbook').settings.update('default', patch, { updatedBy: 'test' });
    },
  };
}
