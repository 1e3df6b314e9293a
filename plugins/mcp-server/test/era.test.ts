import { expect } from 'chai';
import { eraOf } from '../wire/era.js';
import { metaNames } from '../wire/names.js';

describe('telling the era of a message', () => {
  const rows: readonly {
    readonly meta?: unknown;
    readonly header?: string;
    readonly session?: boolean;
    readonly method?: string;
    readonly era: 'session' | 'stateless';
  }[] = [
    { era: 'session' },
    { meta: '2026-07-28', era: 'stateless' },
    { meta: '2026-07-28', header: '2025-11-25', era: 'stateless' },
    { meta: 'v999', era: 'stateless' },
    { meta: 5, era: 'stateless' },
    { meta: '2025-11-25', era: 'session' },
    { meta: '2025-11-25', header: '2026-07-28', era: 'stateless' },
    { header: '2026-07-28', era: 'stateless' },
    { header: '1999-01-01', era: 'stateless' },
    { header: '2024-11-05', era: 'session' },
    { method: 'server/discover', era: 'stateless' },
    { method: 'subscriptions/listen', era: 'stateless' },
    { method: 'tasks/get', era: 'stateless' },
    { method: 'tasks/get', session: true, era: 'session' },
    { method: 'server/discover', header: '2025-06-18', era: 'session' },
    { method: 'tools/list', session: true, era: 'session' },
  ];
  for (const { meta, header, session = false, method = 'tools/list', era } of rows) {
    const said = JSON.stringify({ method, meta, header, session });
    it(`is ${era} for ${said}`, () => {
      const message = {
        method,
        meta: meta === undefined ? {} : { [metaNames.protocolVersion]: meta },
        headerVersion: header,
        hasSession: session,
      };
      expect(eraOf(message)).to.equal(era);
    });
  }
});
