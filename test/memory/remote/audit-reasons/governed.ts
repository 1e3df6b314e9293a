import type { Json } from 'mortise/contracts/memory-gateway/testing';
import { refuseRows } from '../refuse-rows.js';
import type { RemoteMemory } from '../remote-memory.js';
import type { ReasonGroup, ReasonRow } from './reason-row.js';

const ADMIN_KEY = 'governance-key-0123456789';
const governance = { operation: 'governance_update', source: 'gateway' } as const;
const govern = (body: Json) => (memory: RemoteMemory) => memory.host.post('/governance/settings/update', body);

const governanceRows: readonly ReasonRow[] = [
  { ...governance, reason: 'governance_update:missing_credentials', action: 'reject', provoke: govern({}) },
  {
    ...governance,
    reason: 'governance_update:invalid_admin_key',
    action: 'reject',
    provoke: govern({ admin_key: 'wrong' }),
  },
  {
    ...governance,
    reason: 'governance_update:user_not_in_allowlist',
    action: 'reject',
    provoke: govern({ actor_user_id: 'eve' }),
  },
  {
    ...governance,
    reason: 'governance_update:admin_key',
    action: 'allow',
    provoke: govern({ admin_key: ADMIN_KEY, policy_json: { allowlist_users: ['alice'] } }),
  },
  {
    ...governance,
    reason: 'governance_update:allowlist_user',
    action: 'allow',
    provoke: govern({ actor_user_id: 'alice' }),
  },
  {
    ...governance,
    reason: 'governance_update:internal_error',
    action: 'reject',
    async provoke(memory) {
      const end = await refuseRows(memory, {
        event: 'update',
        table: 'governance.settings',
        when: 'new.version > 0',
      });
      await govern({ admin_key: ADMIN_KEY, team_write_enabled: true })(memory);
      await end();
    },
  },
];

/** Outcomes of policy changes. */
export const governed: readonly ReasonGroup[] = [
  {
    platform: 'with an admin key',
    options: { env: { GOVERNANCE_ADMIN_KEY: ADMIN_KEY } },
    rows: governanceRows,
  },
  {
    platform: 'without an admin key',
    options: {},
    rows: [
      {
        ...governance,
        reason: 'governance_update:admin_key_not_configured',
        action: 'reject',
        provoke: govern({ admin_key: 'any' }),
      },
    ],
  },
];
