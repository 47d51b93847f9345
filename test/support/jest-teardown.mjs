/** Milliseconds that connections and servers which a test left open may keep jest from ending. */
const GRACE_MS = 3000;

/** Runs after all tests. The timer itself keeps nothing running: it fires only if something else does. */
export default function boundExit() {
  setTimeout(() => {
    console.error(`jest was ended: connections, servers or timers of a test were still open after ${GRACE_MS} ms.`);
    process.exit(1);
  }, GRACE_MS).unref();
}
