// P4Mesh for simple_switch, whose ports do not compare payloads: signatures cover what is behind them.
#define CHECK_COVERS_PAYLOAD 1
#include "p4mesh.p4"
