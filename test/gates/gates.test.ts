import { faults } from '../../scripts/gates/faults.js';
import { runGate } from '../../scripts/gates/gate.js';
import { gates } from '../../scripts/gates/gates.js';

describe('the gates of the knowledge base', () => {
  for (const gate of gates) {
    it(`${gate.id} holds: ${gate.title}`, () => runGate(gate));

    it(`${gate.id} fails when its fault is injected`, async () => {
      const fault = faults[gate.id];
      if (fault === undefined) throw new Error(`There is no fault for ${gate.id}.`);
      const noticed = await runGate(gate, fault).then(
        () => false,
        () => true,
      );
      if (!noticed) throw new Error('The fault was not noticed.');
    });
  }
});
