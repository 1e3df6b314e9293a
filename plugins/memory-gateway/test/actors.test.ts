import { expect } from 'chai';
import { eachDatabase, until } from 'mortise/sdk/testing';
import { type GatewayHost, startGateway } from './gateway-host.js';

const keys = JSON.stringify([
  { key: 'alice-key-0123456789', id: 'alice-key', actor: 'alice' },
  { key: 'ci-key-0123456789abc', id: 'ci', spaces: ['private:ci', 'team:ci*'] },
  { key: 'root-key-0123456789a', id: 'root', actor: 'root', admin: true },
]);

function bearer(key: string) {
  return { authorization: `Bearer ${key}` };
}
const alice = bearer('alice-key-0123456789');
const ci = bearer('ci-key-0123456789abc');

describe('actors', () => {
  eachDatabase(
    (engine) => {
      for (const policy of ['degrade', 'reject', 'auto_create'] as const) {
        describe(`unknown, with ${policy}`, () => {
          let gateway: GatewayHost;
          before(async () => {
            gateway = await startGateway(engine, { config: { 'memory-gateway': { unknown_actor_policy: policy } } });
          });
          after(() => gateway.stop());

          it('are handled the same on every request, not only the first', async () => {
            const actor = `eve-${policy}`;
            const store = (text: string) =>
              gateway.store({ payload_md: text, target_space: 'private:x', actor_user_id: actor });
            const answers = [await store(`One ${policy}`), await store(`Two ${policy}`)];
            const rows = await Promise.all(answers.map((answer) => gateway.audits(answer)));
            const users = await gateway.count('identity.users', `user_id = '${actor}'`);
            if (policy === 'degrade') {
              for (const { body } of answers) {
                expect(body).to.deep.include({ ok: true, action: 'redirect', reason: 'actor_unknown:degrade' });
                expect(body.space_written).to.equal('private:unknown');
                expect(body.message).to.contain(`the actor ${actor} is unknown (actor_unknown:degrade)`);
              }
              expect(rows.flat().map(({ reason }) => reason)).to.deep.equal([
                'actor_unknown:degrade',
                'actor_unknown:degrade',
              ]);
              expect(users).to.equal(0);
            }
            if (policy === 'reject') {
              for (const { body } of answers) {
                expect(body).to.deep.include({ ok: false, action: 'reject', reason: 'actor_unknown:reject' });
                expect(body.message).to.contain(actor);
              }
              expect(users).to.equal(0);
            }
            if (policy === 'auto_create') {
              expect(answers.map(({ body }) => body.action)).to.deep.equal(['allow', 'allow']);
              expect(rows.map((some) => some.map(({ reason }) => reason))).to.deep.equal([
                ['policy:private_space', 'actor_autocreated'],
                ['policy:private_space'],
              ]);
              expect(rows[0]?.[1]).to.deep.include({
                operation: 'actor_autocreate',
                actorUserId: actor,
                action: 'allow',
              });
              expect(users).to.equal(1);
            }
          });

          // SQLite has one writer at a time.
          const onServer = policy === 'auto_create' && engine.dialect === 'postgres' ? it : undefined;
          onServer?.('are created after a deadlock with another process', async () => {
            const { database } = gateway;
            const stored = await database.transaction(async (trx) => {
              const write = (sql: string) => database.statement(sql, [], { trx });
              await write("insert into {identity.users} (user_id) values ('mallory')");
              const answer = gateway.store({ payload_md: 'A', target_space: 'private:x', actor_user_id: 'mallory' });
              // It waits for the user, and the table for it: the server ends the transaction that waited first.
              const waiting = "select count(*) as n from pg_locks where not granted and locktype = 'transactionid'";
              await until(async () => Number((await database.statement(waiting, [], { trx })).rows[0]?.n) > 0);
              await write('lock table {logbook.memories} in access exclusive mode');
              return { answer };
            });
            expect((await stored.answer).body).to.deep.include({ ok: true, action: 'allow' });
          });

          it('include disabled users', async () => {
            const { users } = gateway.host.service('logbook');
            const actor = `tom-${policy}`;
            await users.add(actor);
            const store = (text: string) =>
              gateway.store({
                payload_md: `${text} ${policy}`,
                target_space: `private:${actor}`,
                actor_user_id: actor,
              });
            expect((await store('Before')).body).to.deep.include({ ok: true, action: 'allow' });
            await users.setActive(actor, false);
            // One that would be new, and one that is there already.
            for (const text of ['After', 'Before']) {
              const answer = await store(text);
              const reported = {
                degrade: { ok: true, action: 'redirect', reason: 'actor_unknown:degrade' },
                reject: { ok: false, action: 'reject', reason: 'actor_unknown:reject' },
                auto_create: { ok: false, action: 'error', reason: 'actor_autocreate_failed', memory_id: null },
              };
              expect(answer.body).to.deep.include(reported[policy]);
              const rows = await gateway.audits(answer);
              expect(rows.map(({ reason }) => reason)).to.deep.equal([reported[policy].reason]);
            }
            expect(await gateway.count('governance.write_audit', `target_space = 'private:${actor}'`)).to.equal(
              policy === 'degrade' ? 1 : 3,
            );
            expect(await gateway.count('identity.users', `user_id = '${actor}' and is_active`)).to.equal(0);
          });

          if (policy === 'auto_create') {
            it('become users once, however many of their memories are stored concurrently', async () => {
              const texts = Array.from({ length: 8 }, (_, index) => `At once ${index}`);
              const answers = await Promise.all(
                texts.map((text) =>
                  gateway.store({ payload_md: text, target_space: 'private:x', actor_user_id: 'ann' }),
                ),
              );
              expect(answers.map(({ body }) => body.action)).to.deep.equal(texts.map(() => 'allow'));
              const made = `operation = 'actor_autocreate' and actor_user_id = 'ann'`;
              expect(await gateway.count('governance.write_audit', made)).to.equal(1);
            });
          }
        });
      }

      describe('with keys', () => {
        let gateway: GatewayHost;
        before(async () => {
          gateway = await startGateway(engine, { env: { MORTISE_API_KEYS: keys } });
        });
        after(() => gateway.stop());

        it('need a key on REST, but not for health', async () => {
          const refused = await gateway.store({ payload_md: 'No key' });
          expect(refused.status).to.equal(401);
          expect(refused.body).to.include({ ok: false, reason: 'AUTH_FAILED' }).and.have.property('detail');
          expect((await gateway.get('/health')).status).to.equal(200);
        });

        it('are users before their first request', async () => {
          const users = await gateway.host.service('logbook').users.list();
          expect(users.filter(({ active }) => active).map(({ userId }) => userId)).to.include.members([
            'alice',
            'root',
          ]);
        });

        it('default to the actor of the key', async () => {
          const { body } = await gateway.store({ payload_md: 'By key', target_space: 'private:alice' }, alice);
          expect(body).to.deep.include({ ok: true, action: 'allow', space_written: 'private:alice' });
          const redirected = await gateway.store({ payload_md: 'To the team' }, alice);
          expect(redirected.body.space_written).to.equal('private:alice');
          expect((await gateway.audits(redirected))[0]).to.deep.include({
            actorUserId: 'alice',
            principal: 'alice-key',
          });
        });

        it('must match the actor of the key', async () => {
          const answer = await gateway.store(
            { payload_md: 'As bob', target_space: 'private:alice', actor_user_id: 'bob' },
            alice,
          );
          expect(answer.status).to.equal(200);
          expect(answer.body).to.deep.include({ ok: false, action: 'reject', reason: 'actor_mismatch' });
          expect((await gateway.audits(answer)).map(({ reason, operation }) => [operation, reason])).to.deep.equal([
            ['memory_store', 'actor_mismatch'],
          ]);
        });

        it('can neither write nor read the spaces of others', async () => {
          const store = await gateway.store({ payload_md: 'To bob', target_space: 'private:bob' }, alice);
          expect(store.body).to.deep.include({ ok: false, action: 'reject', reason: 'space_forbidden' });
          const query = await gateway.query({ query: 'key', spaces: ['team:default', 'private:bob'] }, alice);
          expect(query.status).to.equal(200);
          expect(query.body).to.deep.include({ ok: false, action: 'reject', reason: 'space_forbidden', results: [] });
          expect((await gateway.audits(query)).map(({ targetSpace }) => targetSpace)).to.deep.equal(['private:bob']);
          expect((await gateway.query({ query: 'key', spaces: ['private:alice'] }, ci)).body.ok).to.equal(false);
        });

        it('can use the spaces in their key', async () => {
          const { body } = await gateway.store({ payload_md: 'By ci', target_space: 'private:ci' }, ci);
          expect(body).to.deep.include({ ok: true, space_written: 'private:ci' });
          expect((await gateway.store({ payload_md: 'By ci' }, ci)).body.reason).to.equal('space_forbidden');
        });

        it('stay disabled, even with a key', async () => {
          await gateway.host.service('logbook').users.setActive('alice', false);
          const { body } = await gateway.store({ payload_md: 'After the end', target_space: 'private:alice' }, alice);
          expect(body.reason).to.equal('actor_unknown:degrade');
          await gateway.host.service('logbook').users.setActive('alice', true);
        });

        it('can read the audit trail only with the admin right', async () => {
          expect((await gateway.get('/memory/audit', alice)).status).to.equal(403);
          const { status, body } = await gateway.get(
            '/memory/audit?action=reject&limit=2',
            bearer('root-key-0123456789a'),
          );
          expect(status).to.equal(200);
          expect(body.count).to.equal(2);
          const rows = body.rows as readonly Record<string, unknown>[];
          expect(rows.every(({ action }) => action === 'reject')).to.equal(true);
          expect((await gateway.get('/memory/audit?limit=x', bearer('root-key-0123456789a'))).status).to.equal(400);
        });
      });
    },
    { keepRows: true },
  );
});
