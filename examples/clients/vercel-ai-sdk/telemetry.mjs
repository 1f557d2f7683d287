// Without an SDK that is started, the AI SDK's spans go nowhere.
import { NodeSDK } from '@opentelemetry/sdk-node';

const sdk = new NodeSDK();
sdk.start();
// The spans that are left are sent before the process ends.
process.once('beforeExit', () => sdk.shutdown());
