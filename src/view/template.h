/* attention.html with its style sheet and scripts in it; tools/embed.py makes it when the program is built. */
#ifndef TR_VIEW_TEMPLATE_H
#define TR_VIEW_TEMPLATE_H

extern const char tr_view_template[]; /* NUL-terminated */

#endif
