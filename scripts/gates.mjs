// npm run gates: sets up what is missing and runs the gates of the knowledge base (see scripts/gates/README.md)
import { projectRoot, runEntry } from './lib/entry.mjs';
import { runCompiled } from './lib/run-product.mjs';

runEntry(() => runCompiled(projectRoot, 'dist/scripts/gates/main.js', process.argv.slice(2)));
