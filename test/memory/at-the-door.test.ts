import { request } from 'node:http';
import { expect } from 'chai';
import { eachDatabase } from 'mortise/sdk/testing';
import { type Json, type MemoryHost, startMemory } from './memory-host.js';

describe('the body of a memory', () => {
  eachDatabase(
    (engine) => {
      let memory: MemoryHost;
      before(async function start() {
        this.timeout(30_000);
        memory = await startMemory(engine);
      });
      after(() => memory.stop());

      const door = (text: string, headers: Readonly<Record<string, string>>) =>
        new Promise<{ status: number; reason: unknown }>((resolve, reject) => {
          const { port } = new URL(memory.host.origin);
          const sent = request({ port, path: '/memory/store', method: 'POST', headers }, (response) => {
            let body = '';
            response.setEncoding('utf8').on('data', (chunk: string) => (body += chunk));
            response.on('end', () =>
              resolve({ status: response.statusCode ?? 0, reason: (JSON.parse(body) as Json).reason }),
            );
          });
          sent.on('error', reject).end(Buffer.from(text, 'latin1'));
        });
      const whole = '{"payload_md":"At the door.","target_space":"private:door"}';
      const json = { 'content-type': 'application/json' };
      const refused: readonly [string, string, Readonly<Record<string, string>>, number, string][] = [
        ['from a foreign page', whole, { ...json, origin: 'http://evil.example' }, 403, 'ORIGIN_NOT_ALLOWED'],
        ['from a page of no origin', whole, { ...json, origin: 'null' }, 403, 'ORIGIN_NOT_ALLOWED'],
        ['under a foreign name', whole, { ...json, host: 'evil.example' }, 403, 'HOST_NOT_ALLOWED'],
        ['as a form', whole, { 'content-type': 'text/plain' }, 415, 'UNSUPPORTED_MEDIA_TYPE'],
        ['without a type', whole, {}, 415, 'UNSUPPORTED_MEDIA_TYPE'],
        ['cut short', whole.slice(0, -1), json, 400, 'PARSE_ERROR'],
        ['that is empty', '', json, 400, 'PARSE_ERROR'],
        ['that is no UTF-8', whole.replace('door.', '\xff'), json, 400, 'PARSE_ERROR'],
        [
          'nested too deeply',
          `${whole.slice(0, -1)},"meta_json":${'{"a":'.repeat(100)}1${'}'.repeat(101)}`,
          json,
          400,
          'INVALID_REQUEST',
        ],
      ];
      for (const [how, text, headers, status, reason] of refused) {
        it(`${how} is refused with ${status}, and nothing is stored`, async () => {
          expect(await door(text, headers)).to.deep.equal({ status, reason });
          expect(await memory.count('logbook.memories', 'space = ?', 'private:door')).to.equal(0);
          expect(await memory.count('governance.write_audit', 'target_space = ?', 'private:door')).to.equal(0);
        });
      }

      it('that is valid is accepted', async () => {
        expect((await door(whole, json)).status).to.equal(200);
        expect(await memory.count('logbook.memories', 'space = ?', 'private:door')).to.equal(1);
      });
    },
    { keepRows: true },
  );
});
