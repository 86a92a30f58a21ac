export * from './index.cjs';
import * as sameish from './index.cjs';
export default sameish;
