import { expect } from 'chai';
import { eachDatabase } from 'mortise/sdk/testing';
import { exitCode, startChild } from './child.js';

describe('a process that is killed', () => {
  eachDatabase(
    (engine) => {
      it('loses no acknowledged commit, and leaves no partial transaction', async () => {
        for (const rowsBefore of [20, 60, 140]) {
          const child = startChild('./writing-process.js', { settings: engine.settings });
          const ended = exitCode(child);
          let acknowledged = -1;
          await new Promise<void>((resolve) => {
            child.on('message', (message) => {
              acknowledged = Number(message);
              if (acknowledged > rowsBefore) resolve();
            });
          });
          child.kill('SIGKILL');
          await ended;
          const database = await engine.open('ledger', ['ledger']);
          const { rows } = await database.statement<{ n: number }>('select n from {ledger.rows} order by n');
          expect(rows.length).to.be.at.least(acknowledged + 1);
          expect(rows.length % 2).to.equal(0);
          expect(rows.map((row) => row.n)).to.deep.equal(rows.map((_, index) => index));
          await engine.empty();
        }
      });
    },
    { keepRows: true },
  );
});
