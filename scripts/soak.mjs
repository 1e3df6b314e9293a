// npm run soak -- [--kills N] [--seed N]: sets up what is missing and runs scripts/soak
import { projectRoot, runEntry } from './lib/entry.mjs';
import { runCompiled } from './lib/run-product.mjs';

runEntry(() => runCompiled(projectRoot, 'dist/scripts/soak/main.js', process.argv.slice(2)));
