import { expect } from 'chai';
import { type Answer, answerOf, type Json } from 'mortise/contracts/memory-gateway/testing';
import { eachDatabase, type TestEngine, type TestHost } from 'mortise/sdk/testing';
import { type ErrorRow, errorGroups } from './errors/error-rows.js';
import { type RemoteMemory, startRemoteMemory } from './remote-memory.js';

const STATELESS = '2026-07-28';

type Send = (host: TestHost, row: ErrorRow) => Promise<Answer>;

const send = async (host: TestHost, body: string, headers: Readonly<Record<string, string>>): Promise<Answer> =>
  answerOf(
    await host.fetch('/mcp', { method: 'POST', body, headers: { 'content-type': 'application/json', ...headers } }),
  );

const bare: Send = (host, { method, params, body, headers = {} }) =>
  send(host, body ?? JSON.stringify({ jsonrpc: '2.0', id: 'a', method, params }), headers);

const stateless: Send = (host, { method = '', params, headers = {} }) => {
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': STATELESS,
    'io.modelcontextprotocol/clientCapabilities': {},
  };
  const name = (params as Json | undefined)?.name;
  const body = JSON.stringify({ jsonrpc: '2.0', id: 'a', method, params: { ...(params as Json), _meta } });
  return send(host, body, {
    ...headers,
    'mcp-protocol-version': STATELESS,
    'mcp-method': method,
    ...(typeof name === 'string' ? { 'mcp-name': name } : {}),
  });
};

/** Codes that the stateless protocol revision reserves, and their replacements. */
const renamed: Readonly<Record<number, readonly [number, string]>> = {
  [-32000]: [-31000, 'TOOL_EXECUTION_ERROR'],
  [-32001]: [-31001, 'DEPENDENCY_UNAVAILABLE'],
  [-32002]: [-31002, 'BUSINESS_REJECTION'],
};

function expectError({ body, headers }: Answer, row: ErrorRow, code: number): Json {
  const error = body.error as Json;
  expect(error).to.deep.include({ code });
  const data = error.data as Json;
  expect(data).to.deep.include({
    category: row.category,
    reason: row.reason,
    retryable: row.retryable === true,
    correlation_id: headers.get('x-correlation-id'),
  });
  expect(data.details)
    .to.be.an('object')
    .that.deep.includes(row.details ?? {});
  expect(error.message).to.match(/^[^\n]{5,300}$/);
  expect(JSON.stringify(error)).not.to.match(
    /select |insert |\/srv\/|secret\.js|node_modules|127\.0\.0\.1|hunter2|at .*\.js/i,
  );
  return data;
}

/** The tool's message about its arguments, as the protocol error of the other revisions. */
function errorOfAnswer(answer: Answer): Answer {
  const { isError, structuredContent } = answer.body.result as Json;
  expect(isError).to.equal(true);
  const { ok, code, message, ...data } = structuredContent as Json;
  expect(ok).to.equal(false);
  return { ...answer, body: { error: { code, message, data } } };
}

/** A message without its correlation id, which differs per request. */
const sentence = (message: unknown): string => String(message).replace(/corr-[0-9a-f]{16}/, 'corr');

describe('the errors of JSON-RPC calls', () => {
  eachDatabase(
    (engine: TestEngine) => {
      for (const { platform, options, rows } of errorGroups) {
        describe(`by a platform ${platform}`, () => {
          let memory: RemoteMemory;
          before(async () => {
            memory = await startRemoteMemory(engine, options);
          });
          after(async () => {
            await memory.stop();
            await engine.empty();
          });

          for (const row of rows) {
            const { reason, code, status = 200 } = row;
            const shown = JSON.stringify(row.body ?? row.params ?? row.method).slice(0, 60);
            it(`is ${code} ${reason} with HTTP ${status} for ${shown}`, async () => {
              const undo = await row.prepare?.(memory);
              try {
                const answer = await bare(memory.host, row);
                expect(answer.status).to.equal(status);
                expectError(answer, row, code);
                if (row.method !== undefined) expect(answer.body.id).to.equal('a');

                if (row.method === 'tools/call') {
                  const stated = await stateless(memory.host, row);
                  const other = row.isAnswer === true ? errorOfAnswer(stated) : stated;
                  const [number, name] = renamed[code] ?? [code, undefined];
                  expect(other.status).to.equal(status);
                  expect(expectError(other, row, number).code_name).to.equal(name);

                  const { name: tool, arguments: args } = row.params as Json;
                  if (typeof tool !== 'string' || Array.isArray(args)) return;
                  const legacy = await send(memory.host, JSON.stringify({ tool, arguments: args }), row.headers ?? {});
                  expect(legacy.status).to.equal(status);
                  expect(legacy.body).to.deep.include({ ok: false, reason, result: null });
                  expect(sentence(legacy.body.error)).to.equal(sentence((other.body.error as Json).message));
                  expect(legacy.body.details).to.be.an('object');
                }
              } finally {
                await undo?.();
              }
            });
          }
        });
      }
    },
    { keepRows: true },
  );
});
