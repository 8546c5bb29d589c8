/* Names that requests may call the server by, in their Host header, so that no web page reaches it under the page's own.
 *
 * A page of a stranger can let its own name lead to 127.0.0.1 (DNS rebinding). To the browser the server is then the page's
 * own site: the page may read the answers, whatever --cors says. Such a request has the page's name, and the port of the
 * server, since the browser connects to what the address says. A GET of the page has nothing else that tells: no Origin, and
 * Sec-Fetch-Site only where the address is trusted. Requests that a proxy on this machine passes on may have foreign names,
 * too, but with the port of the proxy or none. So a name with the server's own port is refused at loopback addresses, and
 * all others pass; --allowed-hosts says it strictly. An address in place of a name leads nowhere else. */
#ifndef TR_SERVE_HOSTS_H
#define TR_SERVE_HOSTS_H

#include "serve/server.h"

/* host: the header's value; NULL: none, which no browser sends. names: of --allowed-hosts; NULL: not given. own_ports
 * [count]: those that only the server's own names may come with. */
bool host_is_allowed(const char *host, const char *names, const unsigned *own_ports, size_t count);

#endif
