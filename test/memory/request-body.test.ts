import { request } from 'node:http';
import { expect } from 'chai';
import type { Json, MemoryHost } from 'mortise/contracts/memory-gateway/testing';
import { eachDatabase } from 'mortise/sdk/testing';
import { startMemory } from './memory-host.js';

describe('a store request', () => {
  eachDatabase(
    (engine) => {
      let memory: MemoryHost;
      before(async () => {
        memory = await startMemory(engine);
      });
      after(() => memory.stop());

      const send = (text: string, headers: Readonly<Record<string, string>>) =>
        new Promise<{ status: number; reason: unknown }>((resolve, reject) => {
          const { port } = new URL(memory.host.origin);
          const sent = request({ port, path: '/memory/store', method: 'POST', headers }, (response) => {
            let answer = '';
            response.setEncoding('utf8').on('data', (chunk: string) => (answer += chunk));
            response.on('end', () =>
              resolve({ status: response.statusCode ?? 0, reason: (JSON.parse(answer) as Json).reason }),
            );
          });
          sent.on('error', reject).end(Buffer.from(text, 'latin1'));
        });
      const body = '{"payload_md":"A valid body.","target_space":"private:body"}';
      const json = { 'content-type': 'application/json' };
      const refused: readonly [string, string, Readonly<Record<string, string>>, number, string][] = [
        ['from a foreign page', body, { ...json, origin: 'http://evil.example' }, 403, 'ORIGIN_NOT_ALLOWED'],
        ['from a page with a null origin', body, { ...json, origin: 'null' }, 403, 'ORIGIN_NOT_ALLOWED'],
        ['with a foreign host', body, { ...json, host: 'evil.example' }, 403, 'HOST_NOT_ALLOWED'],
        ['as a form', body, { 'content-type': 'text/plain' }, 415, 'UNSUPPORTED_MEDIA_TYPE'],
        ['without a type', body, {}, 415, 'UNSUPPORTED_MEDIA_TYPE'],
        ['truncated', body.slice(0, -1), json, 400, 'PARSE_ERROR'],
        ['that is empty', '', json, 400, 'PARSE_ERROR'],
        ['that is not UTF-8', body.replace('body.', '\xff'), json, 400, 'PARSE_ERROR'],
        [
          'nested too deeply',
          `${body.slice(0, -1)},"meta_json":${'{"a":'.repeat(100)}1${'}'.repeat(101)}`,
          json,
          400,
          'INVALID_REQUEST',
        ],
      ];
      for (const [how, text, headers, status, reason] of refused) {
        it(`${how} is refused with ${status}, and nothing is stored`, async () => {
          expect(await send(text, headers)).to.deep.equal({ status, reason });
          expect(await memory.count('logbook.memories', 'space = ?', 'private:body')).to.equal(0);
          expect(await memory.count('governance.write_audit', 'target_space = ?', 'private:body')).to.equal(0);
        });
      }

      it('that is valid is accepted', async () => {
        expect((await send(body, json)).status).to.equal(200);
        expect(await memory.count('logbook.memories', 'space = ?', 'private:body')).to.equal(1);
      });
    },
    { keepRows: true },
  );
});
