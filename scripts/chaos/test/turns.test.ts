import { execFile } from 'node:child_process';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { checkTurns } from '../checker/check-turns.js';
import type { DatabaseReader } from '../checker/read-database.js';
import type { TurnChaosResult } from '../turns/run-turn-chaos.js';

const main = resolve(dirname(fileURLToPath(import.meta.url)), '..', 'main.js');

function chaos(...args: string[]): Promise<{ code: unknown; stdout: string; stderr: string }> {
  return new Promise((done) => {
    execFile(process.execPath, [main, 'turns', ...args], { cwd: join(main, '..') }, (error, stdout, stderr) =>
      done({ code: error === null ? 0 : error.code, stdout, stderr }),
    );
  });
}

describe('kills in the middle of turns', () => {
  let results: readonly TurnChaosResult[] = [];
  let output = '';

  before(async function kill() {
    // A short version of `npm run chaos -- turns --kills 500`.
    this.timeout(300_000);
    const { stdout, stderr } = await chaos('--kills', '10', '--seed', '20261123', '--json');
    output = stderr;
    results = stdout === '' ? [] : (JSON.parse(stdout) as { results: TurnChaosResult[] }).results;
  });

  for (const [database, title] of [
    ['sqlite', 'on SQLite'],
    ['postgres', 'on PostgreSQL, which two processes share'],
  ] as const) {
    it(`leave no turn without a status, no orphaned or duplicate message and no repeated effect ${title} (M11)`, () => {
      const result = results.find((one) => one.database === database);
      expect(result?.violations ?? output).to.deep.equal([]);
      expect(result?.killed).to.equal(5);
      // A run with few events proves little.
      expect(result?.statuses.completed).to.be.greaterThan(10);
      expect(result?.statuses.interrupted).to.be.greaterThan(0);
    });
  }

  it('are refused with a pointer to --help when an argument is invalid', async () => {
    for (const args of [
      ['--kills', 'many'],
      ['--database', 'oracle'],
      ['--speed', '9'],
    ]) {
      const { code, stderr } = await chaos(...args);
      expect(code).to.equal(2);
      expect(stderr).to.contain('npm run chaos -- turns');
    }
  });
});

describe('the checker of turns', () => {
  const message = { turn_id: 't1', session_id: 's', tool_call_id: null as string | null, status: 'complete' };
  const user = { ...message, seq: 0, role: 'user', content: 'a-0 1' };
  const tool = { ...message, seq: 1, role: 'tool', content: '{}', tool_call_id: 'call_1' };
  const reply = { ...message, seq: 2, role: 'assistant', content: 'done a-0' };
  const turn = { turn_id: 't1', session_id: 's', status: 'completed', idempotency_key: null as string | null };
  const sent = { text: 'a-0 1', key: undefined, answered: ['t1'] };

  interface Found {
    readonly turns?: readonly object[];
    readonly messages?: readonly object[];
    readonly journal?: readonly string[];
    readonly answered?: readonly string[];
  }

  async function check({
    turns = [turn],
    messages = [user, tool, reply],
    journal = ['t1 1'],
    answered = ['t1'],
  }: Found) {
    const rows = async <Row>(sql: string) => (sql.includes('_turns') ? turns : messages) as readonly Row[];
    const reader: DatabaseReader = { dialect: 'sqlite', rows, atOnce: (run) => run(), close: async () => undefined };
    return (await checkTurns(reader, [{ ...sent, answered }], journal)).violations;
  }

  it('accepts a complete turn', async () => {
    expect(await check({})).to.deep.equal([]);
  });

  const again = { turn_id: 't2', session_id: 's', status: 'completed' };
  const cases: readonly (readonly [what: string, found: Found, violation: string])[] = [
    ['a turn without a status', { turns: [{ ...turn, status: 'running' }], answered: [] }, 't1 is running'],
    ['a repeated effect', { journal: ['t1 1', 't1 1'] }, 't1 had an effect twice'],
    ['an effect without a turn', { journal: ['t1 1', 't9 1'] }, 'effect t9 1 has no turn'],
    [
      'a message without a turn',
      { messages: [user, tool, reply, { ...reply, turn_id: 't9', seq: 3 }] },
      'message 3 has no turn',
    ],
    ['a duplicate message', { messages: [user, { ...user, seq: 3 }, tool, reply] }, 't1 has 2 messages of the user'],
    ['a duplicate reply', { messages: [user, tool, reply, { ...reply, seq: 3 }] }, 't1 is completed with 2 replies'],
    ['a duplicate tool row', { messages: [user, tool, { ...tool, seq: 3 }, reply] }, 't1 has a tool row twice'],
    [
      'two rows with the same number',
      { messages: [user, { ...tool, seq: 0 }, reply] },
      'two messages of a session have the same number',
    ],
    ['a tool row without its effect', { journal: [] }, 't1: call_1 has a row and no effect'],
    ['an answer whose turn is missing', { answered: ['t7'] }, 'a-0 1 was answered, its turn is undefined'],
    [
      'a reply of a turn that failed',
      { turns: [{ ...turn, status: 'failed' }], answered: [] },
      't1 is failed and has a reply',
    ],
    [
      'a request that ran twice',
      {
        turns: [turn, again],
        messages: [
          user,
          tool,
          reply,
          ...[user, tool, reply].map((row) => ({ ...row, turn_id: 't2', seq: row.seq + 3 })),
        ],
        journal: ['t1 1', 't2 1'],
      },
      'a-0 1 was completed 2 times',
    ],
  ];
  for (const [what, found, violation] of cases) {
    it(`reports ${what}`, async () => {
      expect(await check(found)).to.include(violation);
    });
  }
});
