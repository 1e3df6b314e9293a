import { expect } from 'chai';
import type { Json } from 'mortise/contracts/memory-gateway/testing';
import type { RemoteMemory } from '../remote-memory.js';
import type { ReasonGroup, ReasonRow } from './reason-row.js';

const upload = { operation: 'evidence_upload', source: 'gateway' } as const;
const evidence = (args: Json) => (memory: RemoteMemory) => memory.call('evidence_upload', args);

const text = { content: 'hello', content_type: 'text/plain' };
const uploadRows: readonly ReasonRow[] = [
  { ...upload, reason: 'evidence_upload:stored', action: 'allow', provoke: evidence(text) },
  ...(
    [
      ['MISSING_REQUIRED_PARAMETER', { content: 'hello' }],
      ['EVIDENCE_SIZE_LIMIT_EXCEEDED', { ...text, content: 'x'.repeat(101) }],
      ['EVIDENCE_CONTENT_TYPE_NOT_ALLOWED', { ...text, content_type: 'image/png' }],
      ['EVIDENCE_CONTENT_INVALID', { content: '***', content_type: 'text/plain;base64' }],
      ['EVIDENCE_ITEM_NOT_FOUND', { ...text, item_id: 404 }],
      ['EVIDENCE_WRITE_ERROR', { ...text, content: 'read only' }],
    ] as const
  ).map(([code, args]) => ({
    ...upload,
    reason: `evidence_upload:${code}`,
    action: 'reject' as const,
    provoke: async (memory: RemoteMemory) => {
      const { result } = await memory.call('evidence_upload', args);
      expect(result).to.deep.include({ ok: false, error_code: code });
    },
  })),
];

/** Outcomes of evidence uploads. */
export const uploaded: readonly ReasonGroup[] = [
  {
    platform: 'that keeps evidence',
    options: { env: { MORTISE_EVIDENCE_MAX_SIZE_BYTES: '100' } },
    rows: uploadRows.slice(0, -1),
  },
  {
    platform: 'whose artifacts may not be written',
    options: { env: { MORTISE_ARTIFACTS_READ_ONLY: 'true' } },
    rows: uploadRows.slice(-1),
  },
];
