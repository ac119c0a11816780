import DataLoader from "dataloader";
import "./slowDisk.ts";

// For a control that must fail: whatever waits is begun at once, in a transaction of its own, however many are under way.
const { load } = DataLoader.prototype;
DataLoader.prototype.load = function (this: { _batchScheduleFn: (dispatch: () => void) => void }, key) {
  this._batchScheduleFn = queueMicrotask;
  return load.call(this, key);
};
