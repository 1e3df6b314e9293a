#!/usr/bin/env node
// The command `mortise`: `start` (or `app start`) runs the server, unless one runs already; anything else the command line.
import { projectRoot, runEntry } from '../scripts/lib/entry.mjs';
import { runCommand, runServer } from '../scripts/lib/run-product.mjs';
import { startArguments } from '../scripts/lib/start-arguments.mjs';

const args = process.argv.slice(2);
const start = startArguments(args);

runEntry(() => (start ? runServer(projectRoot, start) : runCommand(projectRoot, args)));
