// npm run chaos -- --kills 1000 --seed 1: sets up what is missing and runs scripts/chaos (see its README.md)
import { projectRoot, runEntry } from './lib/entry.mjs';
import { runCompiled } from './lib/run-product.mjs';

runEntry(() => runCompiled(projectRoot, 'dist/scripts/chaos/main.js', process.argv.slice(2)));
