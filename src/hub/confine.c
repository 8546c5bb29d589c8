#include "hub/confine.h"

#include "util/sandbox.h"

#include <curl/curl.h>
#include <openssl/x509.h>
#include <stddef.h>
#include <stdlib.h>

/* Where systems keep what the C library, libcurl and OpenSSL read after their start. Single files where possible: /etc and
 * /run hold secrets. Links are followed. */
static const char *const places[] = {
    /* names of servers; the folders under /run belong to programs that replace resolv.conf */
    "/etc/resolv.conf", "/etc/hosts", "/etc/nsswitch.conf", "/etc/host.conf", "/etc/gai.conf", "/etc/services",
    "/etc/protocols", "/run/systemd/resolve", "/run/resolvconf", "/run/NetworkManager", "/run/connman",
    /* certificates */
    "/etc/ssl/certs", "/etc/ssl/cert.pem", "/etc/ssl/openssl.cnf", "/etc/pki/tls/certs", "/etc/pki/tls/cert.pem",
    "/etc/pki/tls/openssl.cnf", "/etc/pki/ca-trust", "/etc/ca-certificates", "/etc/crypto-policies",
    "/var/lib/ca-certificates",
    /* modules that the C library loads */
    "/etc/ld.so.cache", "/usr", "/lib", "/lib64", "/nix/store", "/gnu/store", "/dev/null", "/dev/random", "/dev/urandom",
    "/sys/devices/system/cpu"};

static const char *const variables[] = {"CURL_CA_BUNDLE", "SSL_CERT_FILE", "OPENSSL_CONF"};

enum { PLACES = sizeof places / sizeof *places, VARIABLES = sizeof variables / sizeof *variables, BUILT_IN = 4 };

tr_status tr_hub_confine(const char *folder, tr_error *error)
{
    const char *readable[PLACES + VARIABLES + BUILT_IN + 1];
    size_t count = 0;
    for (size_t i = 0; i < PLACES; i++)
        readable[count++] = places[i];
    for (size_t i = 0; i < VARIABLES; i++)
        if (getenv(variables[i]))
            readable[count++] = getenv(variables[i]);
    readable[count++] = X509_get_default_cert_file();
    readable[count++] = X509_get_default_cert_dir();
#if LIBCURL_VERSION_NUM >= 0x074600
    const curl_version_info_data *curl = curl_version_info(CURLVERSION_NOW);
    if (curl->age >= CURLVERSION_SEVENTH && curl->cainfo)
        readable[count++] = curl->cainfo;
    if (curl->age >= CURLVERSION_SEVENTH && curl->capath)
        readable[count++] = curl->capath;
#endif
    readable[count] = NULL;
    const tr_sandbox_paths paths = {.readable = readable, .writable = folder};
    return tr_sandbox_download(&paths, error);
}
