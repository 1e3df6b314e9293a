import type { Method, MethodCall, MethodResult } from '../method.js';
import { declaresTasks, missingCapability } from '../wire/capabilities.js';
import { RpcFailure } from '../wire/failure.js';
import { isObject, member, membersText } from '../wire/json.js';
import { tasksExtension } from '../wire/names.js';
import { requiredText } from './prompts.js';

function taskMethod(run: (call: MethodCall, taskId: string) => Promise<MethodResult>): Method {
  return {
    eras: ['stateless'],
    needs: 'tasks',
    run(call) {
      if (!declaresTasks(call.capabilities ?? {})) throw missingCapability(['extensions', tasksExtension]);
      return run(call, requiredText(call.params, 'taskId'));
    },
  };
}

const acknowledged: MethodResult = { members: '' };

export const getTask = taskMethod(async ({ server, caller }, taskId) => ({
  members: membersText(await server.tasks.get(taskId, caller.principal.id)),
}));

export const updateTask = taskMethod(async ({ server, caller, params }, taskId) => {
  const responses = member(params, 'inputResponses');
  if (!isObject(responses)) {
    throw new RpcFailure('INVALID_PARAM_TYPE', 'Parameter "inputResponses" must be an object.', {
      details: { path: '/inputResponses', expected: 'object' },
    });
  }
  await server.tasks.answer(taskId, caller.principal.id, responses);
  return acknowledged;
});

export const cancelTask = taskMethod(async ({ server, caller }, taskId) => {
  await server.tasks.cancel(taskId, caller.principal.id);
  return acknowledged;
});
