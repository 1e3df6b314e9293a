// npm start: sets up what is missing and runs the server. Like all of lib, plain JavaScript that any Node can parse.
import { projectRoot, runEntry } from './lib/entry.mjs';
import { runServer } from './lib/run-product.mjs';

runEntry(() => runServer(projectRoot, process.argv.slice(2)));
