import { endProcess } from '../../core/process/exit.js';
import { faults } from './faults.js';
import { type Gate, GateFailure, runGate } from './gate.js';
import { gates } from './gates.js';

const rule = '='.repeat(70);
const print = (line = ''): void => void process.stdout.write(`${line}\n`);

/** Runs a gate and prints its result. */
async function show(gate: Gate): Promise<boolean> {
  print(`[Gate ${gate.id}] ${gate.title}`);
  try {
    const shown = await runGate(gate);
    print(gate.id.startsWith('E') ? `✓ Gate ${gate.id}: PASS (${shown})` : `✓ ${shown}`);
    return true;
  } catch (error) {
    print(`✗ Gate ${gate.id}: FAIL (${(error as Error).message})`);
    print(`  ${error instanceof GateFailure ? error.remedy : String((error as Error).stack)}`);
    return false;
  } finally {
    print();
  }
}

async function runAll(chosen: readonly Gate[]): Promise<boolean> {
  print(`${rule}\nProjectKB Gate Validation\n${rule}\n`);
  let passed = 0;
  for (const gate of chosen) if (await show(gate)) passed += 1;
  const failed = chosen.length - passed;
  print(`${rule}\nGate Summary\n${rule}\nPassed: ${passed}\nFailed: ${failed}\n`);
  print(failed === 0 ? '✅ All gates PASSED' : '❌ Some gates FAILED');
  return failed === 0;
}

/** Injects the fault of every gate and shows that the gate fails. */
async function mutate(chosen: readonly Gate[]): Promise<boolean> {
  let missed = 0;
  for (const gate of chosen) {
    try {
      await runGate(gate, faults[gate.id]);
      missed += 1;
      print(`✗ ${gate.id}: the fault was not detected`);
    } catch (error) {
      print(`✓ ${gate.id} fails: ${(error as Error).message.split('\n')[0]}`);
    }
  }
  print(`\nFaults detected: ${chosen.length - missed} of ${chosen.length}`);
  return missed === 0;
}

const [command = 'all', ...ids] = process.argv.slice(2);
const wanted = ids.map((id) => id.toUpperCase());
const chosen = wanted.length === 0 ? gates : gates.filter(({ id }) => wanted.includes(id));
if (chosen.length === 0)
  throw new Error(`There is no gate ${wanted.join(', ')}; there are ${gates.map(({ id }) => id).join(', ')}.`);
const isGood = command === 'mutate' ? await mutate(chosen) : await runAll(chosen);
await endProcess(isGood ? 0 : 1);
