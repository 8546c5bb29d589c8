/* Whether the test was compiled with a sanitizer, which makes it about ten times slower: then it takes some of its cases. */
#ifndef TR_TESTS_SANITIZED_H
#define TR_TESTS_SANITIZED_H

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { SANITIZED = 1 };
#else
enum { SANITIZED = 0 };
#endif

#endif
