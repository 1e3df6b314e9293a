/** The description of all shipped plugins, relative to the checkout. */
export const surfaceFile = 'schemas/openapi.yaml';
