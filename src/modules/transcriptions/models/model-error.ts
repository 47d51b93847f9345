/** A folder holds no model that can be used. The message names the file and what is wrong with it, for an operator. */
export class ModelError extends Error {
  override readonly name = 'ModelError';
}
