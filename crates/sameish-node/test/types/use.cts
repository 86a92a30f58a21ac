// The types of the package for CommonJS.
import sameish = require('sameish');

const engine: sameish.Engine = new sameish.Engine();
const hash: bigint = sameish.fnv1a64('hello');
const groups: sameish.ArticleGroup[] = sameish.groupArticlesBySimilarity([]);
// @ts-expect-error the text must be a string
sameish.computeSimHash(engine);

export = { engine, groups, hash };
