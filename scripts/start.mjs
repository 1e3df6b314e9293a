// npm start: sets up what is missing and runs the server. Plain JavaScript that every Node can read, as is all of lib.
import { projectRoot, runEntry } from './lib/entry.mjs';
import { runServer } from './lib/run-product.mjs';

runEntry(() => runServer(projectRoot, process.argv.slice(2)));
