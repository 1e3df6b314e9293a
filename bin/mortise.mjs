#!/usr/bin/env node
// The command `mortise`: `start` (or `app start`) runs the server, anything else the command line.
import { projectRoot, runEntry } from '../scripts/lib/entry.mjs';
import { runCommand, runServer } from '../scripts/lib/run-product.mjs';

const args = process.argv.slice(2);
const start = args[0] === 'app' && args[1] === 'start' ? 2 : args[0] === 'start' ? 1 : 0;

runEntry(() => (start > 0 ? runServer(projectRoot, args.slice(start)) : runCommand(projectRoot, args)));
