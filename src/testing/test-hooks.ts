type Hook = (work: () => Promise<void>) => void;
const hooks = globalThis as unknown as { beforeAll: Hook; afterAll: Hook };

/** The global hooks of Jest. Read when they are called, so that this file can be imported without Jest. */
export const beforeAll: Hook = (work) => hooks.beforeAll(work);
export const afterAll: Hook = (work) => hooks.afterAll(work);
