import { expect } from 'chai';

/** The error that a promise rejects with; a promise that resolves fails the test. */
export async function errorOf(promise: Promise<unknown>): Promise<Error> {
  const outcome = await promise.then(
    () => undefined,
    (error: unknown) => error,
  );
  expect(outcome, 'nothing was thrown').to.be.instanceOf(Error);
  return outcome as Error;
}
