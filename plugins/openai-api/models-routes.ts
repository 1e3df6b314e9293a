import type { ModelsService, OfferedModel } from 'mortise/contracts/models';
import type { JsonObject, Route, RouteRequest } from 'mortise/sdk';
import { modelNotFound } from './request.js';

/** `GET /v1/models`. A client of Claude's API, which sends its version, gets the list in that API's shape. */
export function modelsRoute(models: ModelsService): Route {
  return {
    async handle(request) {
      const offered = await models.list();
      if (!speaksClaude(request)) return { body: { object: 'list', data: offered.map(openAiModel) } };
      const data = offered.map(claudeModel);
      return { body: { data, has_more: false, first_id: offered[0]?.id ?? null, last_id: offered.at(-1)?.id ?? null } };
    },
  };
}

/** `GET /v1/models/{id}`; ids contain slashes. */
export function modelRoute(models: ModelsService): Route {
  return {
    async handle(request, { requestId }) {
      const { id = '' } = request.params;
      const found = (await models.list()).find((model) => model.id === id);
      if (found) return { body: speaksClaude(request) ? claudeModel(found) : openAiModel(found) };
      if (!speaksClaude(request)) throw modelNotFound(id);
      const error = { type: 'not_found_error', message: `model: ${id}`, code: 'model_not_found' };
      return { status: 404, body: { type: 'error', error, request_id: requestId } };
    },
  };
}

function speaksClaude({ headers }: RouteRequest): boolean {
  return headers['anthropic-version'] !== undefined;
}

function openAiModel({ id, providerId, createdAt }: OfferedModel): JsonObject {
  return { id, object: 'model', created: Math.floor(Date.parse(createdAt) / 1_000), owned_by: providerId };
}

function claudeModel({ id, displayName, createdAt }: OfferedModel): JsonObject {
  return { type: 'model', id, display_name: displayName, created_at: createdAt };
}
